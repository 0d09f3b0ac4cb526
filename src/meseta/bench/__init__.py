"""The paper's experiments: data, runs, records, statistics, figures. Start with `meseta bench`."""
