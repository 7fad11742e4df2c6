import BelfryService
import BelfryTesting
import Foundation
import Logging
import Testing

/// The fillings of the store that the conformance tests hold to the port.
enum Engine: String, CaseIterable, Sendable {
    case memory, sqlite, postgres

    /// Both databases, or that which `STORES` names: `make quick` leaves PostgreSQL out.
    static let allCases: [Engine] = {
        let all: [Engine] = [.sqlite, .postgres]
        guard let names = ProcessInfo.processInfo.environment["STORES"]?.split(separator: ",") else { return all }
        return names.map { name in
            guard let engine = Engine(rawValue: String(name)) else {
                preconditionFailure("STORES names \(name), which is none of \(all.map(\.rawValue))")
            }
            return engine
        }
    }()

    /// The databases, and the model that simulations of delivery run on.
    static let withModel = [.memory] + allCases

    /// Runs `body` with an empty database, and clears it away afterwards.
    func withStore(
        clock: any WallClock, quotas: Quotas = .standard, observer: any StoreObserver = NoStoreObserver(),
        _ body: (any Store) async throws -> Void
    ) async throws {
        try await withPorts(clock: clock, quotas: quotas, observer: observer) { ports in
            try await body(try #require(ports as? any Store))
        }
    }

    /// Runs `body` with an empty database or model.
    func withPorts(
        clock: any WallClock, quotas: Quotas = .standard, observer: any StoreObserver = NoStoreObserver(),
        _ body: (any DeliveryPorts) async throws -> Void
    ) async throws {
        switch self {
        case .memory: try await body(MemoryStore(clock: clock))
        case .sqlite:
            try await withDirectory { directory in
                let store = try SQLiteStore.open(
                    at: directory + "/belfry.sqlite", clock: clock, logger: .strict, migrate: true, quotas: quotas,
                    observer: observer, searchLimit: .patient)
                try await body(store)
                try await store.close()
            }
        case .postgres:
            try await TestDatabases.withDatabase { connection in
                var options = PostgresStore.Options(
                    connection: connection, connectionsMax: 4, clock: clock, quotas: quotas, observer: observer)
                options.searchLimit = .patient
                let store = try await PostgresStore.open(options, logger: .strict, migrate: false)
                let outcome: Result<Void, any Error>
                do { outcome = .success(try await body(store)) } catch { outcome = .failure(error) }
                await store.close()
                try outcome.get()
            }
        }
    }
}

/// Runs `body` with the path of an empty directory that is removed afterwards.
func withDirectory(_ body: (String) async throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-store-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer {
        do { try FileManager.default.removeItem(at: url) } catch { Issue.record(error) }
    }
    try await body(url.path)
}

extension Logger {
    /// Fails the test that an error is logged in.
    static var strict: Logger { Logger(label: "test") { _ in StrictLog() } }
}

private struct StrictLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level >= .error { Issue.record("\(event.message) \(event.metadata ?? [:])") }
    }
}
