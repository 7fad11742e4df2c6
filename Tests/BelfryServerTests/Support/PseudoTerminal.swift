import Foundation
import Glibc

/// A terminal that a test holds the other end of: it types, and reads what stands on the screen.
final class PseudoTerminal: Sendable {
    private let master: Int32
    /// The end that a process takes for its terminal.
    let path: String

    struct Failed: Error { let call: String }

    /// Source: ioctl_tty(2). Swift does not see the macros.
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    init(columns: UInt16) throws {
        master = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (Int32, UInt32) = (0, 0)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard master >= 0, ioctl(master, Self.unlock, &lock) == 0, ioctl(master, Self.number, &number) == 0,
            ioctl(master, UInt(TIOCSWINSZ), &size) == 0, fcntl(master, F_SETFL, O_NONBLOCK) == 0
        else { throw Failed(call: "/dev/ptmx") }
        path = "/dev/pts/\(number)"
    }

    deinit { close(master) }

    /// The end for a process, to be closed once it has it.
    func open() throws -> FileHandle {
        let descriptor = Glibc.open(path, O_RDWR | O_NOCTTY)
        guard descriptor >= 0 else { throw Failed(call: "open") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func type(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) } }

    /// The output since the last call; nil once no process has the terminal any more.
    func read() -> String? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(master, $0.baseAddress, $0.count) }
        if count > 0 { return String(decoding: bytes[..<count], as: UTF8.self) }
        return count < 0 && errno == EAGAIN ? "" : nil
    }
}

extension Program {
    /// Runs `belfry` at a terminal to its end, and returns its status and all that stood on the screen.
    ///
    /// - Parameter replies: what is typed once the screen ends with a text.
    static func runAtTerminal(
        _ arguments: [String], columns: UInt16 = 80, replying replies: [String: String] = [:]
    ) async throws -> (status: Int32, screen: String) {
        let terminal = try PseudoTerminal(columns: columns)
        let process = try make(arguments, ["TERM": "xterm"])
        let end = try terminal.open()
        process.standardInput = end
        process.standardOutput = end
        process.standardError = end
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        var screen = ""
        var replies = replies
        try await eventually("belfry \(arguments.joined(separator: " ")) ends") {
            screen += terminal.read() ?? ""
            for (question, reply) in replies where screen.hasSuffix(question) {
                replies[question] = nil
                terminal.type(reply + "\n")
            }
            return !process.isRunning
        }
        while let more = terminal.read(), !more.isEmpty { screen += more }
        try end.close()
        return (process.terminationStatus, screen.replacing("\r\n", with: "\n"))
    }
}
