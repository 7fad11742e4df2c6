package import FoundationEssentials
package import PostgreSQL

/// A connection to a database of either engine.
///
/// Generic code over it is specialised for each engine inside this module: no existential stands between a statement
/// and its rows.
package protocol SQLConnection: SendableMetatype {
    associatedtype Statement: SQLStatement

    /// The statement, prepared once for each connection.
    func prepared(_ sql: SQLText) throws -> Statement

    /// Runs statements without parameters, separated by semicolons.
    func run(script: SQLText) throws

    /// The progress of the posting lists of topics.
    func postingMark() throws -> PostingMark

    /// Devices of a posting list that are greater than `after`, ascending; those that are merged into it. Fewer than `limit` at its end alone,
    /// or some more, where that costs nothing.
    func merged(_ list: SubscriptionList, after: Int64, limit: Int) throws -> [Int64]

    /// Adds devices to a posting list that has none of them yet.
    func add(_ devices: [Int64], to list: SubscriptionList) throws

    /// Up to `limit` of the keys that are devices of the platform and greater than `after`. The keys ascend.
    func devices(_ keys: [Key<Device>], on platform: Key<Platform>, after: Int64, limit: Int) throws -> [Int64]

    /// The names that have a topic which has not expired.
    func livingTopics(_ names: Set<String>, of application: Key<Application>, at now: Instant) throws -> Set<String>

    /// The number of devices of platforms, excluding deleted ones.
    func deviceCount(on platforms: [Key<Platform>]) throws -> Int

    /// A device near a position in the list of all devices of platforms, and the number of devices up to it; nil when
    /// the list has to be counted from its beginning.
    func device(of platforms: [Key<Platform>], skipping count: Int) throws -> (device: Key<Device>, skipped: Int)?

    /// The active devices of custom user ids on each platform, up to a limit for each user.
    func devices(ofUsers ids: [String], on platforms: [Key<Platform>], atMost limit: Int) throws -> DevicesByPlatform

    /// How many active devices each of the custom user ids has on the platform, counted up to a limit.
    func deviceCounts(
        ofUsers ids: [String], on platform: Key<Platform>, atMost limit: Int
    ) throws -> [String: Int]

    /// The pushes of these keys, in order; known ones are only checked for existence. It stops, after at least one,
    /// when those that it read exceed `Burst.contentBytesMax`.
    ///
    /// - Parameter keep: called with each push that was read, and the length of its stored form.
    func pushes(_ keys: [Key<Push>], known: [Push?], keep: (Push, Int) -> Void) throws -> [PushLoading]

    /// The tokens of each batch's devices that are active and ready to be sent to.
    func recipients(of batches: [Batch]) throws -> [[Recipient]]
}

/// A prepared statement.
package protocol SQLStatement: SendableMetatype {
    associatedtype Row: SQLRow

    /// Runs it without waiting for the answer where the engine can: an error is thrown by the next call that waits.
    func send<each Value: SQLValue>(_ values: repeat each Value) throws

    /// As `send`, for many rows: each array has a value of every row. SQLite runs the statement once for each, PostgreSQL once
    /// with arrays for its parameters, which its text unnests.
    func sendEach<each Value: SQLValue>(_ columns: repeat [each Value]) throws

    /// Runs it; returns the number of rows it inserted, changed or deleted.
    @discardableResult
    func run<each Value: SQLValue>(_ values: repeat each Value) throws -> Int

    /// The first row, converted by `body`; nil when there is none.
    func first<each Value: SQLValue, Result>(
        _ values: repeat each Value, as body: (Row) throws -> Result
    ) throws -> Result?

    /// Calls `body` with each row in turn. The row is valid during the call only.
    func each<each Value: SQLValue>(_ values: repeat each Value, do body: (Row) throws -> Void) throws

    /// All rows, converted by `body`.
    func all<each Value: SQLValue, Result>(
        _ values: repeat each Value, as body: (Row) throws -> Result
    ) throws -> [Result]
}

extension SQLStatement {
    /// The number in the first column of the first row; nil when there is no row.
    func number<each Value: SQLValue>(_ values: repeat each Value) throws -> Int64? {
        try first(repeat each values) { $0.integer(0) }
    }

    /// As `number`, of a statement that counts.
    func count<each Value: SQLValue>(_ values: repeat each Value) throws -> Int {
        try Int(number(repeat each values) ?? 0)
    }

    func hasRow<each Value: SQLValue>(_ values: repeat each Value) throws -> Bool {
        try first(repeat each values) { _ in true } ?? false
    }
}

/// The types of parameters.
package typealias SQLValue = SQLiteValue & PostgresValue

/// A row that a statement returned. Columns are read by index, from 0.
package protocol SQLRow: SendableMetatype {
    func isNull(_ column: Int32) -> Bool
    /// 0 for NULL.
    func integer(_ column: Int32) -> Int64
    func integerIfAny(_ column: Int32) -> Int64?
    func bool(_ column: Int32) -> Bool
    func double(_ column: Int32) -> Double
    /// Empty for NULL.
    func text(_ column: Int32) -> String
    func textIfAny(_ column: Int32) -> String?
    /// Empty for NULL.
    func blob(_ column: Int32) -> [UInt8]
    func blobIfAny(_ column: Int32) -> [UInt8]?
    /// Lends the bytes without copying.
    func withBlob<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
    /// nil for NULL, and for anything that is not a uuid.
    func uuid(_ column: Int32) -> UUID?
}

extension SQLRow {
    func instantIfAny(_ column: Int32) -> Instant? { integerIfAny(column).map(Instant.init(milliseconds:)) }
}

/// Many keys as one parameter, for `among` of `SQLText`.
struct SQLKeys: SQLValue {
    private let ids: [Int64]

    init(_ ids: some Sequence<Int64>) { self.ids = Array(ids) }

    init<Entity>(_ keys: some Sequence<Key<Entity>>) { ids = keys.map(\.rawValue) }

    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        "[\(ids.map(String.init).joined(separator: ","))]".bind(to: statement, at: index)
    }

    static var postgresType: PostgresType { PostgresArray<Int64>.postgresType }

    func encode(into bytes: inout [UInt8]) -> Bool { PostgresArray(ids).encode(into: &bytes) }
}

/// An error of a database, as opposed to one of its contents.
protocol EngineError: Error {
    /// The corresponding error of the port.
    var storeError: any Error { get }
}

extension Error {
    /// The corresponding error of the port; errors that are not the database's stay as they are.
    var asStoreError: any Error { (self as? any EngineError)?.storeError ?? self }
}
