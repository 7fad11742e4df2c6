package import Logging

extension LoggingConfiguration {
    /// A logger that writes to standard error in the configured format.
    ///
    /// - Parameter ring: keeps the last lines too; nil keeps none.
    package func makeLogger(keepingIn ring: LogRing? = nil) -> Logger {
        var logger = Logger(label: "belfry") { label in
            let handler: any LogHandler =
                switch format {
                case .text: StreamLogHandler.lines(label: label)
                case .json: JSONLogHandler(label: label)
                }
            return FoldingLogHandler(ring.map { KeepingLogHandler(handler, in: $0) } ?? handler, in: .shared)
        }
        logger.logLevel = level
        return logger
    }
}
