"""What reports and plots show, as plain values: computed here, drawn elsewhere."""
