import CPostgreSQL
import Foundation
import Synchronization

/// Hears what others `NOTIFY`, on a connection and a thread of its own, which comes back when the connection breaks.
public final class Listener: Sendable {
    /// What it heard.
    public enum Event: Sendable, Hashable {
        /// It listens. What was said before was not heard: readers that depend on it look for themselves now.
        case listening
        case heard(channel: String, payload: String)
        /// The connection broke; it tries again by itself.
        case lost(PostgresError)
    }

    private let options: ConnectionOptions
    private let channels: [String]
    private let pause: Duration
    private let waker: SocketWaker
    private let isClosed = Atomic(false)
    private let hear: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - channels: as they are named in `NOTIFY`.
    ///   - pause: between two attempts to connect.
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

    /// It hears nothing any more, soon after this.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        waker.ring()
    }

    private func listen() {
        while !isClosed.load(ordering: .acquiring) {
            do {
                try hearOut(Connection(options))
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
            waker.wait(with: PQsocket(connection.handle))
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

    /// Until it is rung, or the time is up. It stays rung.
    func wait(for duration: Duration) {
        var poller = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        _ = poll(&poller, 1, Int32(duration / .milliseconds(1)))
    }

    /// Until it is rung, or the socket has something.
    func wait(with socket: Int32) {
        var pollers = [
            pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&pollers, 2, -1)
    }
}
