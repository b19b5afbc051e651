"""What every stage needs of text: index terms, times, token counts. Pure functions."""
