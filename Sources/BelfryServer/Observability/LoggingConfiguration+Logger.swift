package import Logging

extension LoggingConfiguration {
    /// A logger that writes to standard error in the format that was set.
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
