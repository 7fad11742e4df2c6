/// An error of a database, as opposed to one of its contents.
protocol EngineError: Error {
    /// The corresponding error of the port.
    var storeError: any Error { get }
}

extension Error {
    /// The corresponding error of the port; errors that are not the database's stay as they are.
    var asStoreError: any Error { (self as? any EngineError)?.storeError ?? self }
}
