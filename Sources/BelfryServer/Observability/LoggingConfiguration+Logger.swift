package import Logging

extension LoggingConfiguration {
    /// A logger that writes to standard error in the configured format.
    package func makeLogger() -> Logger {
        var logger = Logger(label: "belfry") { label in
            switch format {
            case .text: StreamLogHandler.lines(label: label)
            case .json: JSONLogHandler(label: label)
            }
        }
        logger.logLevel = level
        return logger
    }
}
