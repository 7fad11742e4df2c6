import Testing

/// The completions that packages have, as the program writes them.
extension CommandTests {
    @Suite struct CompletionTests {
        @Test(arguments: ["bash", "zsh", "fish"])
        func `a shell can complete the commands and their options`(shell: String) async throws {
            try await Scratch.with { scratch in
                let ended = try await Program.run(["--generate-completion-script", shell], in: scratch)
                #expect(ended.status == 0, "\(ended.err)")
                for word in ["geofence", "device", "unsubscribe"] { #expect(ended.out.contains(word), "\(word)") }
            }
        }
    }
}
