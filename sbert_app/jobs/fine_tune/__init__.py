"""The job fine_tune: the data it trains on, its plan, its runs and the models that they leave."""
