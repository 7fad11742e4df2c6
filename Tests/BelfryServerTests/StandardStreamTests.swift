import Foundation
import Testing

/// The real program with standard streams, arguments and folders as others may leave them.
extension CommandTests {
    @Suite struct StandardStreamTests {}
}

extension CommandTests.StandardStreamTests {
    /// A shell that redirects and becomes the program.
    private func redirected(_ redirections: String, first words: String = "") -> [String] {
        ["sh", "-c", "\(words)exec \"$0\" \"$@\" \(redirections)"]
    }

    @Test(arguments: [(">/dev/full", true), (">&-", true), ("| head -1", false)])
    func `unwritable output is an error, except for satisfied readers`(
        redirection: String, isLost: Bool
    ) async throws {
        try await Scratch.with { scratch in
            let words =
                redirection.hasPrefix("|")
                ? ["bash", "-o", "pipefail", "-c", "\"$0\" \"$@\" \(redirection)"] : redirected(redirection)
            let ended = try await Program.run(
                ["check", "--data-directory", scratch.file("data")], in: scratch, behind: words)
            // The pipe's own signal is what other programs end by.
            #expect(isLost ? ended.status == 1 : [0, 128 + SIGPIPE].contains(ended.status), "\(ended)")
            #expect(ended.err.contains("standard output cannot be written") == isLost, "\(ended)")
        }
    }

    @Test func `a server without any standard stream keeps its database whole`() async throws {
        try await Scratch.with { scratch in
            let data = scratch.file("data")
            let server = try Program.start(
                ["serve", "--data-directory", data],
                ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_LEVEL": "trace"],
                behind: redirected("0<&- 1>&- 2>&-"), log: scratch.file("log"))
            defer { server.endAtOnce() }
            try await eventually("the server has its first key") {
                FileManager.default.fileExists(atPath: data + "/admin.key")
            }
            let standard = try (0...2).map {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server.processID)/fd/\($0)")
            }
            #expect(standard == ["/dev/null", "/dev/null", "/dev/null"])
            try await server.end(SIGKILL)
            let list = try await Program.run(["app", "list", "--data-directory", data], in: scratch)
            #expect(list.status == 0, "\(list)")
        }
    }

    @Test(arguments: ["--ignore-signal=TERM", "--block-signal=TERM"])
    func `a stop is heard whatever the program was started with`(signals: String) async throws {
        try await Scratch.with { scratch in
            let server = try Program.start(
                ["serve", "--data-directory", scratch.file("data")],
                ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json"],
                behind: ["env", signals], log: scratch.file("log"))
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            try await server.end(SIGTERM)
            #expect(server.ending == 0, "\(server.logged)")
        }
    }

    @Test func `bytes that are no text are refused in arguments`() async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(
                ["check", "--data-directory", scratch.file("data")], in: scratch,
                behind: ["bash", "-c", "exec \"$0\" \"$@\" $'\\xe4'"])
            #expect(ended.status != 0 && ended.err == "Error: argument 4 is not UTF-8\n", "\(ended)")
        }
    }

    @Test func `a folder gone, too long or another user's is named`() async throws {
        try await Scratch.with { scratch in
            let gone = try await Program.run(
                ["serve"], Program.freePorts, in: scratch,
                behind: redirected(
                    "",
                    first:
                        "mkdir \(scratch.file("gone")) && cd \(scratch.file("gone")) && rmdir \(scratch.file("gone")) && "
                ))
            #expect(gone.status == 1 && gone.err.contains("a folder that is not there any more"), "\(gone)")
            for name in [String(repeating: "a", count: 300), String(repeating: "a/", count: 2_500)] {
                let long = try await Program.run(["check", "--data-directory", "/tmp/" + name], in: scratch)
                #expect(long.status == 1 && long.err.contains("longer than a path may be"), "\(long)")
            }
            guard getuid() == 0 else { return }
            let data = scratch.file("data")
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for command in ["app list", "check", "serve", "keys list"] {
                let ended = try await Program.run(
                    command.split(separator: " ").map(String.init) + ["--data-directory", data], Program.freePorts,
                    in: scratch, behind: ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"])
                #expect(ended.status == 1, "\(command): \(ended)")
                #expect(!ended.err.contains("is not there; `belfry serve` makes it"), "\(command): \(ended)")
                #expect(
                    ended.err.contains("ermission denied") || ended.err.contains("cannot be written"),
                    "\(command): \(ended)")
            }
        }
    }
}
