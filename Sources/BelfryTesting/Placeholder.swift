// BelfryTesting
