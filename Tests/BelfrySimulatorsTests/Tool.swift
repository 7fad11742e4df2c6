import Foundation

/// Runs a command-line tool to its end.
enum Tool {
    static func run(_ path: String, _ arguments: [String]) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).out")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try spawn(path, arguments, output: file.path)
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status & 0x7F == 0 ? status >> 8 & 0xFF : -1)
            }
        }
        return (status, try String(contentsOf: file, encoding: .utf8))
    }

    /// Not `Process`: its `run()` reads behind the end of a directory entry of `/proc/self/fd` and crashes now and then in
    /// a process that has many files open.
    private static func spawn(_ path: String, _ arguments: [String], output: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY, 0)
        let words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var process = pid_t()
        let error = posix_spawn(&process, path, &actions, nil, words + [nil], environ)
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
        return process
    }

    /// Writes a file that lives as long as the body.
    static func withFile<T>(_ text: String, _ body: (String) async throws -> T) async throws -> T {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}
