"""Random programs and alias torture, compared with differences. Run `python -m tests.fuzz --help`."""
