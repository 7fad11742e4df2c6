/// An error of a database, as opposed to one of what is in it.
protocol EngineError: Error {
    /// The port's word for it.
    var storeError: any Error { get }
}

extension Error {
    /// The port's word for the error; errors that are not the database's stay what they are.
    var asStoreError: any Error { (self as? any EngineError)?.storeError ?? self }
}
