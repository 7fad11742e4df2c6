import BelfryAPI
import BelfryCore
import FoundationEssentials

/// Whatever bytes a client sends as a registration or a push, the door answers with a value or an `InvalidInput`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do { _ = try PCFv1.RegistrationRequest.parse(bytes) } catch { precondition(!error.field.isEmpty) }
    do {
        let push = try PCFv1.PushRequest.parse(bytes)
        try push.message.check(for: Set(PlatformKind.allCases), receiptID: UUID())
    } catch let error as InvalidInput {
        precondition(!error.problem.isEmpty)
    } catch {
        preconditionFailure("a stranger among the errors: \(error)")
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
struct PCFDoorFuzzer {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        _ = runDriver(&count, &arguments, fuzz)
    }
}
