import BelfryCore
import GRDB

/// Topic ids by name and names by id, as far as they were asked for: most devices share few topics.
struct TopicBook {
    private var ids: [Key<Application>: [String: Int64]] = [:]
    private var names: [Int64: String] = [:]

    /// Forgets all beyond this many, so that an app that invents names takes no memory.
    private static let countMax = 100_000

    /// nil when nobody ever subscribed to it.
    mutating func id(of name: String, in application: Key<Application>, _ db: Database) throws -> Int64? {
        if let id = ids[application]?[name] { return id }
        guard let id = try db.prepared(TopicStatements.id).first(application, name, as: { $0.integer(0) }) else {
            return nil
        }
        learn(id, name, application)
        return id
    }

    /// Gives the name an id if it has none.
    mutating func intern(_ name: String, in application: Key<Application>, _ db: Database) throws -> Int64 {
        if let id = try id(of: name, in: application, db) { return id }
        try db.prepared(TopicStatements.insert).run(application, name)
        let id = db.lastInsertedRowID
        learn(id, name, application)
        return id
    }

    mutating func name(of id: Int64, in application: Key<Application>, _ db: Database) throws -> String {
        if let name = names[id] { return name }
        let name = try db.topicName(id)
        learn(id, name, application)
        return name
    }

    private mutating func learn(_ id: Int64, _ name: String, _ application: Key<Application>) {
        if names.count >= Self.countMax { (ids, names) = ([:], [:]) }
        ids[application, default: [:]][name] = id
        names[id] = name
    }
}

extension Database {
    func topicName(_ id: Int64) throws -> String {
        guard let name = try prepared(TopicStatements.name).first(id, as: { $0.text(0) }) else {
            throw StoreError.unavailable("topic \(id) is missing")
        }
        return name
    }
}

/// A device's topic ids in its row: ascending, and coded as the devices of a page are.
enum TopicList {
    static func encode(_ ids: [Int64]) -> [UInt8] { DeviceList.encode(ids.map { Key($0) }) }

    static func decode(_ bytes: some Collection<UInt8>) throws -> [Int64] {
        guard let ids = DeviceList.decode(bytes) else { throw StoreError.unavailable("a device's topics are damaged") }
        return ids.map(\.rawValue)
    }
}

enum TopicStatements {
    static let id = """
        SELECT id /* topics.id */ FROM topic WHERE application_id = ?1 AND name = ?2
        """

    static let name = """
        SELECT name /* topics.name */ FROM topic WHERE id = ?1
        """

    static let insert = """
        INSERT INTO topic /* topics.insert */ (application_id, name) VALUES (?1, ?2)
        """
}
