import CPostgreSQL
import Foundation
import Synchronization

/// Receives `NOTIFY`, on a connection and a thread of its own, and reconnects when the connection breaks.
public final class Listener: Sendable {
    public enum Event: Sendable, Hashable {
        /// It listens. Earlier notifications may have been missed: readers that depend on them must check now.
        case listening
        case heard(channel: String, payload: String)
        /// A pooler lets no notification through, so none is waited for.
        case pooled
        /// The connection broke; it tries again by itself.
        case lost(PostgresError)
    }

    private let options: ConnectionOptions
    private let channels: [String]
    private let pause: Duration
    private let waker: SocketWaker
    private let isClosed = Atomic(false)
    private let hear: @Sendable (Event) -> Void

    /// How often it looks whether its server is still the one that writes.
    private static let look = Duration.seconds(1)

    /// - Parameters:
    ///   - channels: their names in `NOTIFY`.
    ///   - pause: the time between two attempts to connect.
    ///   - hear: called on the listener's thread, which waits for it.
    public init(
        _ options: ConnectionOptions, channels: [String], pause: Duration = .seconds(1),
        hear: @escaping @Sendable (Event) -> Void
    ) throws {
        self.options = options
        self.channels = channels
        self.pause = pause
        self.hear = hear
        waker = try SocketWaker()
        let thread = Thread { [self] in listen() }
        thread.name = "postgresql-listener"
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Stops listening, soon after this.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        waker.ring()
    }

    private func listen() {
        while !isClosed.load(ordering: .acquiring) {
            do {
                let connection = try Connection(options)
                if connection.isPooled { return hear(.pooled) }
                try hearOut(connection)
            } catch let error as PostgresError {
                hear(.lost(error))
            } catch {
                hear(.lost(PostgresError(.connectionLost, message: "\(error)")))
            }
            waker.wait(for: pause)
        }
    }

    private func hearOut(_ connection: Connection) throws {
        for channel in channels { try connection.run(script: "LISTEN \(Self.quoted(channel))") }
        hear(.listening)
        while !isClosed.load(ordering: .acquiring) {
            waker.wait(with: PQsocket(connection.handle), for: Self.look)
            guard !connection.isOfDemoted else { return }
            guard PQconsumeInput(connection.handle) == 1 else { throw connection.failure(.connectionLost) }
            while let notice = PQnotifies(connection.handle) {
                defer { PQfreemem(notice) }
                hear(
                    .heard(
                        channel: String(cString: notice.pointee.relname), payload: String(cString: notice.pointee.extra)
                    ))
            }
        }
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}

/// Wakes a thread that waits for a socket.
private final class SocketWaker: Sendable {
    private let reading: Int32
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw PostgresError(.connectionFailed, message: String(cString: strerror(errno)))
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        Foundation.close(reading)
        Foundation.close(writing)
    }

    func ring() {
        var byte: UInt8 = 1
        _ = write(writing, &byte, 1)
    }

    /// Returns when it is signalled, or the time is up. It stays signalled.
    func wait(for duration: Duration) {
        var poller = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        _ = poll(&poller, 1, Int32(duration / .milliseconds(1)))
    }

    /// Returns when it is signalled, the socket is readable, or the time is up.
    func wait(with socket: Int32, for duration: Duration) {
        var pollers = [
            pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&pollers, 2, Int32(duration / .milliseconds(1)))
    }
}
