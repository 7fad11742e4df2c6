@preconcurrency import Glibc

/// Standard input, output and error, and arguments, as the caller of the program left them.
enum StandardStreams {
    /// Opens closed streams. Else the next file that is opened, such as the database, would take the place of one and receive its
    /// output.
    static func open() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The least that is free, so this one. What is printed to a closed output is an error, what is logged is not.
            _ = Glibc.open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether printed output is lost. A reader that closes the pipe early, as `head` does, has what it wanted.
    static var isOutputLost: Bool {
        guard fflush(stdout) != 0 || ferror(stdout) != 0 else { return false }
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) <= 0 || output.revents & Int16(POLLERR) == 0
    }

    /// The first argument that is no UTF-8, from 1. Swift would put other characters in the place of its bytes.
    static var argumentOfOtherText: Int? {
        (1..<max(1, Int(CommandLine.argc))).first { number in
            CommandLine.unsafeArgv[number].map { String(validatingCString: $0) == nil } ?? false
        }
    }
}
