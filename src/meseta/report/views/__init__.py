"""The numbers that reports and plots show, as plain values; page/ and plot/ draw them."""
