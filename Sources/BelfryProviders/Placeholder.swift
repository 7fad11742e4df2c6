// BelfryProviders
