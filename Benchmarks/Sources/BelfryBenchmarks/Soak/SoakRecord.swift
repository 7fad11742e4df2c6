import Foundation

/// The figures of a server at the end of a minute.
struct SoakMinute: Sendable {
    let number: Int
    let fault: SoakFault
    /// Milliseconds.
    let p50: Double
    let p99: Double
    let memoryMiB: Double
    let openFiles: Double
    let databaseMiB: Double

    /// - Parameter data: the folder of the database.
    init(number: Int, fault: SoakFault, waits: [Double], server: ProcessMeter, data: String) {
        self.number = number
        self.fault = fault
        p50 = waits.quantile(0.5)
        p99 = waits.quantile(0.99)
        memoryMiB = server.residentMiB
        openFiles = Double(server.openFiles)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: data)) ?? []
        let bytes = files.compactMap {
            try? FileManager.default.attributesOfItem(atPath: "\(data)/\($0)")[.size] as? Int
        }
        databaseMiB = Double(bytes.reduce(0, +)) / 1_048_576
    }
}

/// The minutes so far, and what of them grew.
struct SoakRecord {
    static let head = "minute  fault        p50 ms   p99 ms   memory MiB   open files   database MiB"

    private var minutes: [SoakMinute] = []

    mutating func add(_ minute: SoakMinute) {
        minutes.append(minute)
        let cells = [
            (String(minute.number), 6), (minute.fault.rawValue, 12), (minute.p50.fixed(1), 8), (minute.p99.fixed(1), 8),
            (minute.memoryMiB.fixed(1), 12), (minute.openFiles.fixed(0), 12), (minute.databaseMiB.fixed(1), 14),
        ]
        print(
            cells.map { text, width in String(repeating: " ", count: max(0, width - text.count)) + text }.joined(
                separator: " "))
    }

    /// The figures that are larger in the last third than in the second, in words. The first third is for warming up. The database
    /// keeps the answers of each push, so its growth is compared instead of its size.
    var growth: [String] {
        [
            grown("the memory, in MiB,", by: 1.1) { $0.map(\.memoryMiB).median },
            grown("the number of open files", by: 1.1) { $0.map(\.openFiles).median },
            grown("the wait at p99, in ms,", by: 2) { $0.map(\.p99).median },
            grown("what the database gains, in MiB,", by: 1.25) {
                ($0.last?.databaseMiB ?? 0) - ($0.first?.databaseMiB ?? 0)
            },
        ].compactMap(\.self)
    }

    private func grown(
        _ what: String, by factor: Double, _ value: (ArraySlice<SoakMinute>) -> Double
    ) -> String? {
        let third = minutes.count / 3
        guard third > 1 else { return nil }
        let (before, after) = (value(minutes[third..<2 * third]), value(minutes[(2 * third)..<(3 * third)]))
        return after > before * factor ? "\(what) grew from \(before.fixed(1)) to \(after.fixed(1))" : nil
    }
}
