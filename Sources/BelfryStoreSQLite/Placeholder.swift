// BelfryStoreSQLite
