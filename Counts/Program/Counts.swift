import BelfryService
import Dispatch
import Foundation

/// Does each part of the work often enough to count its instructions: `Scripts/count` runs it under callgrind.
///
/// One request follows the other, so that each write is a transaction of its own and every run does the same.
@main enum Counts {
    /// An asynchronous `main` would end the main thread, which valgrind does not survive. The task leaves that thread, which
    /// waits for it.
    static func main() {
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            do { try await run() } catch { fatalError("counting failed: \(error)") }
            end.signal()
        }
        end.wait()
    }

    private static func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "belfry-counts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try JSONParts().count()
        var installation = try await Installation(at: folder.appending(path: "db").path)
        let devices = try await RegistrationPart(installation).count()
        installation = try await installation.reopened()
        // Once before, for what is made when it is first used, such as statements.
        for audience in [.device(devices[0]), .everyone] as [PushParts.Audience] {
            try await PushParts(installation, nil, targets: [audience]).count()
        }
        try await PushParts(installation, "small push", targets: devices.prefix(100).map { .device($0) }).count()
        try await PushParts(installation, "broadcast", targets: Array(repeating: .everyone, count: 4)).count()
        try await installation.close()
    }
}
