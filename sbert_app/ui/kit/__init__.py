"""What all tabs share: html, figures, events, uploads. Knows no tab."""
