"""Readers of published data sets, in the formats their authors gave them: one file each."""
