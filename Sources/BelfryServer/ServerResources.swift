package import BelfryProviders
package import BelfryService
import Foundation
package import Logging
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// The resources that a configuration names on this machine, opened: the data directory, the key ring and the database;
/// and the dependencies of providers.
package struct ServerResources: Sendable {
    package let keyRing: KeyRingFile
    package let dependencies: ProviderDependencies
    package let store: any Store
    /// The clock that due times use: the database's, where nodes share one.
    package let clock: any WallClock
    /// Whether other nodes may use the same database.
    package let isShared: Bool
    let passwords: any PasswordHashing
    /// nil where broadcasts have no threads of their own.
    let broadcasts: BroadcastThreads?
    private let storage: StorageConfiguration
    private let closeStore: @Sendable () async throws -> Void
    /// Takes over what an earlier server held; nil where nodes share the database.
    private let takeOverStore: (@Sendable () async throws -> Int)?

    package var operatorService: OperatorService { OperatorService(store: store, dependencies: dependencies) }

    /// Opens what the configuration names.
    ///
    /// - Parameter makesDatabase: whether the directory, the key ring and the database are created if they are missing.
    package init(_ configuration: ServerConfiguration, logger: Logger, makesDatabase: Bool = true) async throws {
        let storage = configuration.storage
        self.storage = storage
        isShared = storage.databaseURL != nil
        if !isShared { try storage.demandDatabase() }
        let isNew = try await storage.isNew
        guard makesDatabase || !isNew else {
            let name = isShared ? "the one that database.url names" : storage.databaseFile
            throw StoreError.unavailable("\(name) is not there; `belfry serve` makes it")
        }
        try storage.makeDirectory()
        storage.makeFilesPrivate(logger)
        // A database without its ring cannot be read; a new ring beside it would only hide that.
        let keyRing = try KeyRingFile.open(at: storage.keyRingFile, createIfMissing: isNew)
        if let url = storage.databaseURL {
            let options = PostgresStore.Options(
                connection: url, connectionsMax: storage.connectionsMax, pooling: storage.pooling,
                quotas: configuration.quotas,
                observer: MeasuredStore("postgres"))
            let postgres = try await PostgresStore.open(options, logger: logger, migrate: storage.migrates)
            (store, clock, closeStore) = (postgres, postgres.clock, { await postgres.close() })
            takeOverStore = nil
        } else {
            if isNew { try storage.makeDatabaseFile() }
            let forward = ForwardClock(logger: logger)
            let sqlite = try SQLiteStore.open(
                at: storage.databaseFile, clock: forward, logger: logger, migrate: storage.migrates,
                quotas: configuration.quotas, observer: MeasuredStore("sqlite"))
            (store, clock, closeStore) = (sqlite, forward, { try await sqlite.close() })
            takeOverStore = { try await sqlite.takeOver() }
        }
        do {
            try await keyRing.demandRing { [store] in
                try await store.sealedSecrets($0, after: nil, limit: KeyRingFile.sampleSize)
            }
        } catch {
            try await closeStore()
            throw error
        }
        self.keyRing = keyRing
        let scrypt = ScryptPasswords()
        passwords = configuration.dashboard.leakedPasswords.map { UnleakedPasswords(scrypt, besides: $0) } ?? scrypt
        let group = Self.outbound
        broadcasts = .with(configuration.broadcastNiceness)
        dependencies = ProviderDependencies(
            vault: keyRing, clock: SystemClock(), options: configuration.providers, eventLoopGroup: group,
            broadcastLoops: broadcasts?.loops,
            routes: .open(configuration.providers, clock: SystemClock(), on: group, logger: logger),
            logger: logger, tenant: { [store] in try? await store.application($0)?.tenantKey })
    }

    /// The event loops of connections to providers. A burst to one holds its loop for some milliseconds, and the callers of a server's own
    /// would wait behind it.
    static let outbound = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)

    /// Why nothing is sent at present; nil while a server runs on the database.
    package func serverAbsence() async throws -> String? {
        if isShared {
            let isServed = try await store.nodes().contains { $0.state != .gone }
            return isServed ? nil : "no server is running on the database that database.url names"
        }
        return DirectoryLock.isHeld(storage.directory)
            ? nil : "no server is running on \(storage.databaseFile)"
    }

    /// Takes over at once what a server held that ended before this one, instead of waiting for its leases. The caller has made sure
    /// that it is gone.
    func takeOver(_ logger: Logger) async throws {
        guard let batches = try await takeOverStore?(), batches > 0 else { return }
        logger.notice("took over batches that the last server was sending", metadata: ["batches": "\(batches)"])
    }

    package func close() async throws {
        await dependencies.routes.close()
        try await closeStore()
    }

    /// Every fault that would keep a server from starting with this configuration; changes nothing.
    package static func faults(_ configuration: ServerConfiguration) async -> [String] {
        let storage = configuration.storage
        var faults: [String] = []
        if let fault = DescriptorPlan(configuration).fault { faults.append(fault) }
        if storage.databaseURL == nil {
            do throws(ConfigurationFaults) { try storage.demandDatabase() } catch { faults += error.lines }
        }
        if let fault = storage.directoryFault { faults.append("data.directory: \(fault)") }
        if let fault = await keyRingFault(storage) { faults.append("key.ring.file: \(fault)") }
        if let fault = await schemaFault(storage) {
            faults.append("the database \(storage.databaseName) cannot be used: \(fault)")
        }
        faults += configuration.hostFaults
        let files = [
            ("http", configuration.http.tls), ("management", configuration.management.tls),
            ("gateway", configuration.gateway?.tls), ("dashboard", configuration.dashboard.listener?.tls),
        ]
        for (name, files) in files {
            if let fault = files.flatMap({ $0.fault(at: SystemClock().now) }) {
                faults.append("\(name).tls: \(fault)")
            }
        }
        return faults
    }

    /// Whether opening the database creates it, or brings its schema up to date.
    package static func changesDatabase(_ storage: StorageConfiguration) async throws -> Bool {
        if try await storage.isNew { return true }
        return try await schemaDistance(storage).lacks
    }

    /// A ring that is there has to be readable, and a database that is there needs the ring that it was sealed with.
    private static func keyRingFault(_ storage: StorageConfiguration) async -> String? {
        let isNew = (try? await storage.isNew) ?? true
        guard !isNew || FileManager.default.fileExists(atPath: storage.keyRingFile) else { return nil }
        do {
            let ring = try KeyRingFile.open(at: storage.keyRingFile, createIfMissing: false)
            // Another schema is a fault of the database, or is brought up to date first.
            guard !isNew, let distance = try? await schemaDistance(storage), distance == (false, false) else {
                return nil
            }
            try await ring.demandRing { try await storage.sealedSecrets($0, limit: KeyRingFile.sampleSize) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func schemaFault(_ storage: StorageConfiguration) async -> String? {
        do {
            let (isNewer, lacks) = try await schemaDistance(storage)
            if isNewer { return "it was written by a later version of Belfry" }
            if try await lacks ? storage.migrates : !storage.isNew {
                try await storage.demandServable(isCurrent: !lacks)
            }
            try await storage.demandConnections(attempts: 1)
            let isBehind = lacks && !storage.migrates
            return isBehind ? "its schema is an earlier one and database.migrate is false: run `belfry migrate`" : nil
        } catch StoreError.unavailable(let why) {
            return why
        } catch {
            return "\(error)"
        }
    }

    /// Whether the database has migrations of a newer program that this one cannot work with, and whether it lacks some.
    private static func schemaDistance(_ storage: StorageConfiguration) async throws -> (isNewer: Bool, lacks: Bool) {
        if let url = storage.databaseURL {
            let version = try await PostgresStore.schemaVersion(of: url)
            return (!version.breaking.isEmpty, !version.missing.isEmpty)
        }
        guard
            try storage.databaseFile.isThere(),
            let version = try SQLiteStore.schemaVersion(at: storage.databaseFile)
        else { return (false, false) }
        return (!version.breaking.isEmpty, !version.missing.isEmpty)
    }
}

extension StorageConfiguration {
    /// SQLite gives its log and its index the mode of the database.
    fileprivate func makeDatabaseFile() throws {
        // Another command may have created it a moment before.
        do { try databaseFile.writePrivately(Data()) } catch Errno.fileExists {}
    }

    /// Makes the files that contain secrets private, whatever mode they were created or restored with.
    fileprivate func makeFilesPrivate(_ logger: Logger) {
        let files =
            ["", "-wal", "-shm"].map { databaseFile + $0 } + [keyRingFile, directory + "/" + InitialAdminKey.fileName]
        for file in files where !file.makePrivate() {
            logger.warning("other users may be able to read a file that holds secrets", metadata: ["file": "\(file)"])
        }
    }

    /// Throws when the database is half a copy, or was copied away, or cannot be written.
    fileprivate func demandServable(isCurrent: Bool) async throws {
        if let databaseURL { return try await PostgresStore.demandServable(databaseURL, isCurrent: isCurrent) }
        if isCurrent { try SQLiteStore.demandServable(at: databaseFile) }
    }

    /// Throws where a pooler does not give a server all its connections.
    package func demandConnections(attempts: Int) async throws {
        guard let databaseURL else { return }
        try await PostgresStore.demandConnections(
            databaseURL, connectionsMax: connectionsMax, pooling: pooling, attempts: attempts)
    }

    /// The first secrets of a kind, read without opening the database for writing.
    fileprivate func sealedSecrets(_ kind: SealedSecret.Kind, limit: Int) async throws -> [SealedSecret] {
        guard let databaseURL else { return try SQLiteStore.sealedSecrets(at: databaseFile, kind, limit: limit) }
        return try await PostgresStore.sealedSecrets(of: databaseURL, kind, limit: limit)
    }

    /// Whether the database does not exist yet.
    fileprivate var isNew: Bool {
        get async throws {
            guard let databaseURL else { return try !databaseFile.isThere() }
            return try await PostgresStore.schemaVersion(of: databaseURL).applied.isEmpty
        }
    }

    /// The most bytes of the directory's path, with room for the names of files in it.
    private static let pathBytesMax = Int(PATH_MAX) - 256

    /// The lock of a server on its data directory, which is made where it is missing; nil where nodes share a database.
    func lock() async throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        try demandDatabase()
        try makeDirectory()
        return try await .take(directory)
    }

    func makeDirectory() throws {
        if let fault = directoryFault { throw ConfigurationFaults(lines: ["data.directory: \(fault)"]) }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Why the data directory cannot be used or made; nil when it can.
    fileprivate var directoryFault: String? {
        let files = FileManager.default
        guard directory.hasPrefix("/") || getcwd(nil, 0).map({ free($0) }) != nil else {
            return "\(directory) is below a folder that is not there any more"
        }
        let directory = directory.absolutePath
        guard directory.utf8.count <= Self.pathBytesMax,
            directory.split(separator: "/").allSatisfy({ $0.utf8.count <= Int(NAME_MAX) })
        else { return "\(directory.prefix(80))… is longer than a path may be" }
        var path = FilePath(directory)
        var isDirectory: ObjCBool = false
        while !files.fileExists(atPath: path.string, isDirectory: &isDirectory), path.removeLastComponent() {}
        guard isDirectory.boolValue else { return "\(path) is not a directory" }
        if files.isWritableFile(atPath: path.string) { return nil }
        return path.string == directory
            ? "\(directory) cannot be written" : "\(directory) cannot be made, since \(path) cannot be written"
    }
}

/// The threads of broadcasts. The system prefers all others to them, so that what is urgent waits for none of them.
/// See docs/decisions/0052-broadcasts-give-way.md.
final class BroadcastThreads: TaskExecutor {
    /// The event loops of connections that broadcasts go on.
    let loops = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
    private let threads = NIOThreadPool(numberOfThreads: System.coreCount)
    private let niceness: Int

    /// The threads that were made, by their niceness; they never end.
    private static let made = Mutex<[Int: BroadcastThreads]>([:])

    /// - Parameter niceness: as nice(2) has it; nil for 0, where they would be like all others.
    static func with(_ niceness: Int) -> BroadcastThreads? {
        guard niceness > 0 else { return nil }
        return made.withLock { made in
            let threads = made[niceness] ?? BroadcastThreads(niceness)
            made[niceness] = threads
            return threads
        }
    }

    private init(_ niceness: Int) {
        self.niceness = niceness
        threads.start()
        for loop in loops.makeIterator() { loop.execute { self.giveWay() } }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { _ in
            self.giveWay()
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Lowers the priority of the calling thread. Source: setpriority(2), which acts on a thread on Linux.
    private func giveWay() { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, CInt(niceness)) }
}

extension Result where Failure == any Error {
    /// The result of an asynchronous operation, kept until other necessary work is done.
    package init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
