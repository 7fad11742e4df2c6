import BelfryService

/// The destination of the rows of a list: the database of this machine, or a server elsewhere.
protocol ImportTarget: Sendable {
    /// How many rows it takes at a time.
    var windowRows: Int { get }

    /// Does some rows, and returns what came of each, in order.
    func run(_ rows: [ImportReader.Row]) async throws -> [ImportService.Verdict]
    /// Ends the import when all rows are done.
    func end() async throws
}

extension ImportService: ImportTarget {
    /// They are written in steps of `DeviceImport.perWrite` that share transactions.
    var windowRows: Int { RecordedImport.windowRows }

    func end() {}
}
