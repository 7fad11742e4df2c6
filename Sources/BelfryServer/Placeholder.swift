// BelfryServer
