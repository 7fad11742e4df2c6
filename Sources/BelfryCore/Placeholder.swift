// BelfryCore
