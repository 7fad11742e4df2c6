/// Feeds one target with garbage by libFuzzer: `Fuzzer TARGET [libFuzzer's own arguments]`.
@main
struct Fuzzer {
    /// Each must take any bytes without a trap, at a cost that is linear in them (`CostJudge`); what it promises beyond that it
    /// checks itself.
    private static let targets: [String: @Sendable ([UInt8]) -> Void] = [
        "APNsAnswers": apnsAnswers,
        "Audiences": audiences,
        "ChannelAnswers": channelAnswers,
        "EncryptedMessages": encryptedMessages,
        "FCMAnswers": fcmAnswers,
        "FCMAudiences": fcmAudiences,
        "HTTPConnections": httpConnections,
        "GCMAnswers": gcmAnswers,
        "GatewayHTTP2": gatewayHTTP2,
        "GatewayRecords": gatewayRecords,
        "HMSAnswers": hmsAnswers,
        "Names": names,
        "P12Files": p12Files,
        "PEMFiles": pemFiles,
        "PCFBodies": pcfBodies,
        "Placeholders": placeholders,
        "PostedAnswers": postedAnswers,
        "ProxyAnswers": proxyAnswers,
        "Requests": requests,
        "ServiceAccounts": serviceAccounts,
        "SIPWakes": sipWakes,
        "StoredContent": storedContent,
        "Subscriptions": subscriptions,
        "Times": times,
        "TokenAnswers": tokenAnswers,
        "VAPIDKeys": vapidKeys,
        "WebPushMessages": webPushMessages,
    ]

    /// The cost allowed for a byte, where it is not the usual. Each piece of a connection, even of one byte, goes through all of its
    /// handlers and a turn of the event loop, and may be answered by a piece that does so too. A name is brought into its forms a
    /// dozen times, also character by character. A request may write to a database.
    private static let nanosecondsPerByte = [
        "GatewayHTTP2": 300_000, "HTTPConnections": 300_000, "Names": 100_000, "Requests": 100_000,
    ]

    nonisolated(unsafe) fileprivate static var judge = CostJudge { _ in }

    static func main() {
        guard CommandLine.argc > 1, let target = targets[CommandLine.arguments[1]] else {
            return print(targets.keys.sorted().joined(separator: "\n"))
        }
        let price = Self.nanosecondsPerByte[CommandLine.arguments[1]] ?? CostJudge.nanosecondsPerByte
        let isOfRequests = CommandLine.arguments[1] == "Requests"
        let prepare: @Sendable () -> Void = { if isOfRequests { prepareRequests() } }
        Self.judge = CostJudge(
            nanosecondsPerByte: price, keptByDatabase: isOfRequests ? 1 << 18 : 0, prepare: prepare, target)
        var count = CommandLine.argc - 1
        var arguments = CommandLine.unsafeArgv + 1
        _ = runDriver(&count, &arguments, fuzz)
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzer.judge.judge(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
