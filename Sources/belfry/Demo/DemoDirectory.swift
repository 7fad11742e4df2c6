import ArgumentParser
import Foundation

/// The place of the demo's database: a temporary directory that is removed at the end, or a named one that is kept.
struct DemoDirectory {
    let path: String
    private let isKept: Bool

    init(kept: String?) throws {
        isKept = kept != nil
        if let kept {
            guard !FileManager.default.fileExists(atPath: kept + "/belfry.sqlite") else {
                throw ValidationError(
                    "--data-directory \(kept) holds a database already, which the demo does not touch; name another one"
                )
            }
            path = kept
        } else {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent("belfry-demo-\(UUID().uuidString)").path
        }
    }

    /// Removes the directory if it is a temporary one.
    func remove() {
        if !isKept { try? FileManager.default.removeItem(atPath: path) }
    }
}
