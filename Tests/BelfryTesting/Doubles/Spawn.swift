package import Foundation

/// Starts a program whose output is appended to a file.
///
/// Not `Process`: its `run()` reads past the end of a directory entry of `/proc/self/fd` and sometimes crashes in a
/// process that has many files open. Nothing else of ours is open in the program: NIO lets its sockets be inherited,
/// and a port that another test closes would go on listening. No signal is blocked in it: threads of Dispatch block all, a program
/// inherits that, and one that does not unblock SIGTERM itself, such as pgbouncer, never hears it.
///
/// - Parameters:
///   - words: the program's path and its arguments.
///   - keepsErrors: whether its standard error goes to the file too.
package func spawn(_ words: [String], output: String, keepsErrors: Bool = true) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    if keepsErrors { posix_spawn_file_actions_adddup2(&actions, 1, 2) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    for descriptor in open where descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    let strings = words.map { strdup($0) }
    defer { for string in strings { free(string) } }
    var process = pid_t()
    let error = posix_spawn(&process, words[0], &actions, &attributes, strings + [nil], environ)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    return process
}
