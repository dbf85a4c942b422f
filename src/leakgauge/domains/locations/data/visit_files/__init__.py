"""Read files of visits (CSV, Parquet, GeoJSON) as the `data` table of a plan says."""
