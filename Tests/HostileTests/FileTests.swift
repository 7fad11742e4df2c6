import Foundation
import Testing

/// Row 15: what other users of the machine can read.
extension HostileTests {
    @Suite struct FileTests {
        @Test func `no server file is readable by others`() async throws {
            let folder = NSTemporaryDirectory() + "/hostile-\(UUID().uuidString)"
            let data = folder + "/data"
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let watch = try DirectoryWatch(data)
            let process = try BelfryProcess(
                ["serve", "--data-directory", data],
                environment: [
                    "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
                ], behind: ["/bin/sh", "-c", #"umask 022; exec "$0" "$@""#], log: folder + "/log")
            defer { process.kill() }
            _ = try process.ports()
            for file in try FileManager.default.contentsOfDirectory(atPath: data) {
                let mode = try FileManager.default.attributesOfItem(atPath: data + "/" + file)[.posixPermissions]
                #expect((mode as? Int ?? 0o777) & 0o077 == 0, "\(file) has mode \(String(mode as? Int ?? 0, radix: 8))")
            }
            // A file that gets its mode later could be opened before. SQLite gives the owner of the database to the files
            // beside it, which have the database's mode from the start.
            #expect(watch.changesOfMode().filter { !$0.hasPrefix("belfry.sqlite-") } == [])
        }
    }
}

/// Tells which files of a directory had their mode changed after they were made.
private final class DirectoryWatch {
    private let queue: Int32

    init(_ path: String) throws {
        queue = inotify_init1(Int32(IN_NONBLOCK))
        guard queue >= 0, inotify_add_watch(queue, path, UInt32(IN_ATTRIB)) >= 0 else {
            throw BelfryProcess.Failure(description: "\(path) cannot be watched")
        }
    }

    deinit { close(queue) }

    /// Source: inotify(7). A record is 16 bytes, the last four of which tell how many bytes of name follow.
    func changesOfMode() -> Set<String> {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = max(0, read(queue, &buffer, buffer.count))
        var names: Set<String> = []
        var start = 0
        while start + 16 <= count {
            let length = (0..<4).reduce(0) { $0 | Int(buffer[start + 12 + $1]) << (8 * $1) }
            let name = buffer[(start + 16)..<(start + 16 + length)].prefix { $0 != 0 }
            if !name.isEmpty { names.insert(String(decoding: name, as: UTF8.self)) }
            start += 16 + length
        }
        return names
    }
}
