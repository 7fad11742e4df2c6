import APNs

/// Reads answers of APNs' management of channels.
func channelAnswers(_ bytes: [UInt8]) {
    _ = try? APNsChannelAnswer.storage(bytes[...])
    for id in (try? APNsChannelAnswer.ids(bytes[...])) ?? [] {
        // They go into headers as they are.
        precondition(!id.text.isEmpty && id.text.utf8.allSatisfy { 0x21...0x7E ~= $0 })
    }
}
