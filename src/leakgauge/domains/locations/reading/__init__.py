"""From files of visits to traces: what the `data` table of a plan may say, and how it is carried out."""
