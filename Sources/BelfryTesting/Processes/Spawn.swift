package import Foundation

/// Starts a program whose output is appended to a file.
///
/// Not `Process`: its `run()` reads past the end of a directory entry of `/proc/self/fd` and sometimes crashes in a
/// process that has many files open. Nothing else of ours is open in the program: NIO lets its sockets be inherited,
/// and a port that another test closes would go on listening.
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
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    for descriptor in open where descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    let strings = words.map { strdup($0) }
    defer { for string in strings { free(string) } }
    var process = pid_t()
    let error = posix_spawn(&process, words[0], &actions, nil, strings + [nil], environ)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    return process
}
