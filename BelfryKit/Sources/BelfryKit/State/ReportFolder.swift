import Foundation

/// The notes of an extension that the app has not taken over yet, a file for each push.
///
/// An extension is a process of its own that may run beside the app, so the two never write the same file.
struct ReportFolder: Sendable {
    /// The most pushes that wait for an app that is not opened; the oldest go first.
    static let reportsMax = 200

    private let folder: URL

    init(in folder: URL) { self.folder = folder.appendingPathComponent("reports") }

    struct Report: Codable, Sendable {
        let message: PushMessage
        let event: StoredEvent
    }

    struct File: Sendable {
        let name: String
        let report: Report
        /// Whether the extension has reported it.
        var isSent: Bool { name.hasSuffix(sentSuffix) }
    }

    private static let sentSuffix = ".sent"

    /// One push has one file, however often it is noted.
    func put(_ report: Report) throws(BelfryError) {
        let name = report.message.receiptID.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        let waiting = files()
        guard !waiting.contains(where: { $0.name == name || $0.name == name + Self.sentSuffix }) else { return }
        for file in waiting.prefix(max(0, waiting.count - Self.reportsMax + 1)) { remove(file) }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try JSONEncoder().encode(report).write(to: folder.appendingPathComponent(name), options: .atomic)
        } catch {
            throw .storage("\(error)")
        }
    }

    /// Oldest first. A file that cannot be read is none.
    func files() -> [File] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return
            names.compactMap { name in
                let data = try? Data(contentsOf: folder.appendingPathComponent(name))
                return data.flatMap { try? JSONDecoder().decode(Report.self, from: $0) }.map {
                    File(name: name, report: $0)
                }
            }
            .sorted { ($0.report.event.time, $0.name) < ($1.report.event.time, $1.name) }
    }

    /// Fails for a file that the app has taken meanwhile, which changes nothing.
    func markSent(_ file: File) {
        let name = folder.appendingPathComponent(file.name)
        try? FileManager.default.moveItem(at: name, to: folder.appendingPathComponent(file.name + Self.sentSuffix))
    }

    func remove(_ file: File) { try? FileManager.default.removeItem(at: folder.appendingPathComponent(file.name)) }

    func removeAll() { try? FileManager.default.removeItem(at: folder) }
}
