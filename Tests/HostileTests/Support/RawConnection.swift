import Foundation

/// A TCP connection on which any bytes can be sent. It blocks its thread, with a deadline for each call.
final class RawConnection {
    /// Seconds: longer than a loaded machine takes to derive all keys that may wait.
    private static let patience = 240

    private let socket: Int32
    /// Bytes that were received and are not taken yet.
    private var unread: [UInt8] = []
    private(set) var isClosedByServer = false

    init(port: UInt16, receiveBufferBytes: Int32? = nil) throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBufferBytes {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, 4)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Self.fault("connecting") }
        wait(seconds: Self.patience, for: SO_RCVTIMEO)
        wait(seconds: Self.patience, for: SO_SNDTIMEO)
    }

    deinit { close(socket) }

    private static func fault(_ what: String) -> BelfryProcess.Failure {
        BelfryProcess.Failure(description: "\(what): \(String(cString: strerror(errno)))")
    }

    private func wait(seconds: Int, microseconds: Int = 0, for option: Int32) {
        var limit = timeval(tv_sec: seconds, tv_usec: microseconds)
        setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Sends all of it; throws when the server closes before.
    func send(_ text: String) throws {
        guard try sendWhatIsTaken(Array(text.utf8), timeout: 1_000 * Self.patience) == text.utf8.count else {
            throw BelfryProcess.Failure(description: "the server took no more")
        }
    }

    /// Sends until the server closes, or takes nothing for a while; how many bytes went.
    ///
    /// - Parameter timeout: milliseconds.
    @discardableResult
    func sendWhatIsTaken(_ bytes: [UInt8], timeout: Int = 500) throws -> Int {
        wait(seconds: timeout / 1_000, microseconds: timeout % 1_000 * 1_000, for: SO_SNDTIMEO)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].prefix(65_536).withUnsafeBytes {
                Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if errno != EAGAIN { isClosedByServer = true }
                break
            }
            sent += count
        }
        return sent
    }

    /// Says that nothing more comes, and goes on listening.
    func finish() { shutdown(socket, Int32(SHUT_WR)) }

    /// The next bytes; empty when the server closed, nil when nothing came in time.
    private func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return nil }
            isClosedByServer = true
            return []
        }
    }

    /// Takes bytes up to the end of `mark`; nil when the server closes or says something else for long.
    func take(through mark: [UInt8]) -> [UInt8]? {
        let end = ContinuousClock.now + .seconds(Self.patience)
        var searched = 0
        while true {
            if let end = unread.firstRange(of: mark, from: searched) {
                defer { unread.removeFirst(end) }
                return Array(unread[..<end])
            }
            searched = max(0, unread.count - mark.count)
            guard ContinuousClock.now < end, let more = receive(), !more.isEmpty else { return nil }
            unread += more
        }
    }

    private func take(_ count: Int) -> [UInt8]? {
        while unread.count < count {
            guard let more = receive(), !more.isEmpty else { return nil }
            unread += more
        }
        defer { unread.removeFirst(count) }
        return Array(unread[..<count])
    }

    /// The next answer; nil when there is none: the server closed, or was silent for long.
    ///
    /// - Parameter hasBody: whether bytes follow the head. Those of an answer to `HEAD` have none, whatever its head says.
    func answer(hasBody: Bool = true) -> HTTPAnswer? {
        guard let head = take(through: Array("\r\n\r\n".utf8)), var answer = HTTPAnswer(head: head) else { return nil }
        guard hasBody else { return answer }
        if let length = answer.headers["content-length"].flatMap({ Int($0) }) {
            guard let body = take(length) else { return nil }
            answer.body = body
        } else if answer.headers["transfer-encoding"] == "chunked" {
            guard let body = chunks() else { return nil }
            answer.body = body
        }
        return answer
    }

    private func chunks() -> [UInt8]? {
        var body: [UInt8] = []
        while let line = take(through: Array("\r\n".utf8)) {
            guard let count = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16),
                let chunk = take(count + 2)
            else { return nil }
            if count == 0 { return body }
            body += chunk.dropLast(2)
        }
        return nil
    }

    /// Whether the server closes within the patience of a call, whatever it says before.
    func closes() -> Bool {
        while let more = receive() {
            if more.isEmpty { return true }
        }
        return false
    }

    /// Takes what comes until `text` was among it; false when the server closes or is silent before.
    func receives(_ text: String) -> Bool { take(through: Array(text.utf8)) != nil }
}

extension [UInt8] {
    /// The end of the first place at which `mark` stands.
    fileprivate func firstRange(of mark: [UInt8], from start: Int) -> Int? {
        guard count >= mark.count, let first = mark.first else { return nil }
        var index = start
        while index + mark.count <= count {
            if self[index] == first, self[index..<(index + mark.count)].elementsEqual(mark) {
                return index + mark.count
            }
            index += 1
        }
        return nil
    }
}
