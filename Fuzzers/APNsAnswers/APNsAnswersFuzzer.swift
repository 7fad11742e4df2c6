import APNs

/// Whatever status and body come from APNs, there is an answer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let statuses = [200, 400, 403, 410, 413, 429, 500, 503, 999]
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for status in statuses {
        let answer = APNsAnswer(status: status, body: bytes.span)
        if case .accepted = answer { precondition(status == 200) } else { precondition(status != 200) }
    }
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

@main
struct APNsAnswersFuzzer {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        _ = runDriver(&count, &arguments, fuzz)
    }
}
