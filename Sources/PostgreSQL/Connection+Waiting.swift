import CPostgreSQL
import Dispatch
import Foundation
import Synchronization

// Every wait is a poll of the socket with a deadline; libpq itself never waits.
extension Connection {
    /// Each host of the string has its share of the time: libpq would wait for the first one alone, where that says nothing.
    static func connect(_ options: ConnectionOptions) throws -> OpaquePointer {
        let hosts = try hosts(in: options.string)
        var faults: [String] = []
        for host in hosts {
            do throws(PostgresError) {
                return try connect(options, to: host, within: options.connectTimeout / hosts.count)
            } catch {
                guard hosts.count > 1 else { throw error }
                faults.append(error.message)
            }
        }
        throw PostgresError(.connectionFailed, message: faults.joined(separator: "; "))
    }

    /// The parts of the string that name one host each; one without any where it names one or none, or prefers one of them.
    private static func hosts(in string: String) throws(PostgresError) -> [[(String, String)]] {
        let parts = try self.parts(of: string)
        let hosts = parts["host"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        let ports = parts["port"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        guard hosts.count > 1, parts["hostaddr"] == nil, parts["target_session_attrs"] != "prefer-standby",
            ports.count <= 1 || ports.count == hosts.count, !hosts.contains("")
        else { return [[]] }
        return hosts.enumerated().map { index, host in
            guard !ports.isEmpty else { return [("host", host)] }
            // libpq ignores an empty value, and would take the whole list.
            let port = ports[ports.count == 1 ? 0 : index]
            return [("host", host), ("port", port.isEmpty ? "5432" : port)]
        }
    }

    private static func connect(
        _ options: ConnectionOptions, to host: [(String, String)], within time: Duration
    ) throws(PostgresError) -> OpaquePointer {
        let handle = try start(options, host)
        do throws(PostgresError) {
            try bringUp(handle, until: .now + time)
            // Notices are meant for interactive use.
            PQsetNoticeReceiver(handle, { _, _ in }, nil)
            guard PQsetnonblocking(handle, 1) == 0 else { throw Self.failure(of: handle) }
            return handle
        } catch {
            PQfinish(handle)
            throw error
        }
    }

    private static func start(
        _ options: ConnectionOptions, _ host: [(String, String)]
    ) throws(PostgresError) -> OpaquePointer {
        // Entries before the string are its defaults, those behind it take precedence. Source: PostgreSQL manual, PQconnectdbParams.
        var names: [UnsafePointer<CChar>?] = []
        var values: [UnsafePointer<CChar>?] = []
        defer { for word in names + values { free(UnsafeMutablePointer(mutating: word)) } }
        for (name, value) in options.tcp + [("dbname", options.string)] + host {
            names.append(strdup(name))
            values.append(strdup(value))
        }
        guard let handle = PQconnectStartParams(names + [nil], values + [nil], 1) else {
            throw PostgresError(.connectionFailed, message: "out of memory")
        }
        return handle
    }

    /// libpq quotes what it cannot parse, which may include a password.
    private static func parts(of string: String) throws(PostgresError) -> [String: String] {
        if let fault = ConnectionOptions.fault(of: string) {
            throw PostgresError(.connectionFailed, message: "the connection string \(fault)")
        }
        guard let parsed = PQconninfoParse(string, nil) else {
            throw PostgresError(.connectionFailed, message: "libpq cannot read the connection string")
        }
        defer { PQconninfoFree(parsed) }
        var parts: [String: String] = [:]
        var option = parsed
        while let name = option.pointee.keyword {
            parts[String(cString: name)] = option.pointee.val.map { String(cString: $0) }
            option += 1
        }
        return parts
    }

    private static func bringUp(
        _ handle: OpaquePointer, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        guard PQstatus(handle) != CONNECTION_BAD else { throw failure(of: handle) }
        var wanted = POLLOUT
        while true {
            guard try wait(for: wanted, on: handle, until: deadline) != 0 else {
                throw PostgresError(.connectionFailed, message: "the server did not answer in time")
            }
            switch PQconnectPoll(handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: wanted = POLLIN
            case PGRES_POLLING_WRITING: wanted = POLLOUT
            default: throw failure(of: handle)
            }
        }
    }

    /// The next result of the oldest command; nil when it has no more.
    func nextResult(until deadline: ContinuousClock.Instant) throws -> Rows? {
        var unsent = PQflush(handle)
        while PQisBusy(handle) == 1 {
            guard unsent >= 0 else { throw failure(.connectionLost) }
            let events = try Self.wait(for: unsent == 1 ? POLLIN | POLLOUT : POLLIN, on: handle, until: deadline)
            guard events != 0 else {
                isGivenUp = true
                throw PostgresError(.timedOut, message: "the server did not answer within \(options.answerTimeout)")
            }
            if events & Int16(POLLIN | POLLERR | POLLHUP) != 0, PQconsumeInput(handle) != 1 {
                throw failure(.connectionLost)
            }
            unsent = PQflush(handle)
        }
        return PQgetResult(handle).map(Rows.init)
    }

    var isReadable: Bool {
        var poller = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, 0) > 0
    }

    /// The result of the poll; 0 when the time is up.
    private static func wait(
        for events: Int32, on handle: OpaquePointer, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Int16 {
        var poller = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return 0 }
            let milliseconds = left / .milliseconds(1)
            switch poll(&poller, 1, Int32(min(milliseconds.rounded(.up), 1_000_000))) {
            case 0: continue
            case 1...: return poller.revents
            default:
                guard errno == EINTR else {
                    throw PostgresError(.connectionLost, message: String(cString: strerror(errno)))
                }
            }
        }
    }

    private static func failure(of handle: OpaquePointer) -> PostgresError {
        PostgresError(.connectionFailed, message: words(of: handle))
    }

    /// The words of libpq without the password, wherever it took one for something else.
    static func words(of handle: OpaquePointer) -> String {
        let words = String(cString: PQerrorMessage(handle)).firstLine
        guard let password = PQpass(handle).map({ String(cString: $0) }), password.count >= 4 else { return words }
        return words.replacing(password, with: "…")
    }

    /// Whether another process of the server answers than the one that the connection was told of: poolers make numbers of their own
    /// up. Source: PostgreSQL manual, "Cancelling Requests in Progress"; pgbouncer, `query_cancel`.
    func isOfPooler() throws -> Bool {
        guard PQsendQuery(handle, "SELECT pg_backend_pid()") == 1 else { throw failure(.connectionFailed) }
        var process: Int32?
        let deadline = ContinuousClock.now + options.connectTimeout
        while let rows = try firstResult(until: deadline) {
            guard PQresultStatus(rows.handle) == PGRES_TUPLES_OK else { throw PostgresError(refusal: rows.handle) }
            process = PQgetvalue(rows.handle, 0, 0).flatMap { Int32(String(cString: $0)) }
        }
        return process != PQbackendPID(handle)
    }

    /// A pooler lets everybody in, and makes statements wait for a connection to the server.
    private func firstResult(until deadline: ContinuousClock.Instant) throws -> Rows? {
        do { return try nextResult(until: deadline) } catch let error as PostgresError where error.code == .timedOut {
            throw PostgresError(
                .timedOut,
                message:
                    "the connection was accepted, and its first statement not answered within \(options.connectTimeout): "
                    + "a pooler has no connection to the server left, or the server hangs")
        }
    }
}

extension ConnectionOptions {
    /// Source: PostgreSQL manual, "Parameter Key Words"; tcp(7). An idle connection asks after half of the time, twice.
    fileprivate var tcp: [(String, String)] {
        let milliseconds = Int(silenceTimeout / .milliseconds(1))
        return [
            ("tcp_user_timeout", "\(milliseconds)"), ("keepalives_idle", "\(max(1, milliseconds / 2_000))"),
            ("keepalives_interval", "\(max(1, milliseconds / 4_000))"), ("keepalives_count", "2"),
        ]
    }
}

/// Asks the server to cancel what a connection is doing, from any thread.
final class Canceller: Sendable {
    // SAFETY: made once; PQcancel may be called from any thread, and never changes it.
    private nonisolated(unsafe) let handle: OpaquePointer?
    /// The number of the latest job, and whether it is under way.
    private let work = Mutex((number: 0, isUnderWay: false))
    /// Entered while the server is asked, so that nothing else begins meanwhile.
    private let asking = DispatchGroup()

    private static let patience = DispatchTimeInterval.seconds(2)
    private static let queue = DispatchQueue(label: "postgresql.cancel", attributes: .concurrent)

    init(_ connection: Connection) { handle = PQgetCancel(connection.handle) }

    deinit { PQfreeCancel(handle) }

    /// The number to cancel the job by.
    func begin() -> Int {
        work.withLock { work in
            work = (work.number + 1, true)
            return work.number
        }
    }

    /// Returns false where the server is still being asked, so that the connection cannot be used again: libpq waits for it for ever.
    func end() -> Bool {
        work.withLock { $0.isUnderWay = false }
        return asking.wait(timeout: .now() + Self.patience) == .success
    }

    /// Returns at once; the job's statement then fails with `SQLState.queryCanceled`, unless the job was done already.
    func cancel(_ number: Int) {
        Self.queue.async {
            let isMeant = self.work.withLock { work in
                let isMeant = work == (number, true)
                if isMeant { self.asking.enter() }
                return isMeant
            }
            guard isMeant else { return }
            defer { self.asking.leave() }
            var words = [CChar](repeating: 0, count: 256)
            _ = PQcancel(self.handle, &words, Int32(words.count))
        }
    }
}
