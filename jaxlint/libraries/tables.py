"""Libraries of tables: `x.at[...]` is a cell there, and `replace` puts values in the place of others."""

TABLES = frozenset("cudf dask geopandas modin pandas polars".split())
