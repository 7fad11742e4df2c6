import BelfryService
import Configuration
import Foundation

/// Reads settings one by one and collects the faults, so that all are reported together.
///
/// A value comes from the first of: flags, `BELFRY_*` environment, the file, an old `push_*` name, the default.
final class Settings {
    private let reader: ConfigReader
    private let oldNames: [String: String]
    private(set) var faults: [String] = []
    private(set) var known: Set<String> = []
    private let given: [(source: SettingReport.Source, keys: Set<String>)]
    private let file: ConfigurationFile?
    private var read: [String: SettingReport] = [:]
    private var knownOldNames: Set<String> = []

    /// Old names that were given and belong to no setting.
    var strayOldNames: [String] { oldNames.keys.filter { !knownOldNames.contains($0) }.sorted() }

    /// - Parameters:
    ///   - flags: the keys that flags were given for.
    ///   - file: the file that was read, if there is one.
    init(
        _ reader: ConfigReader, environment: [String: String], flags: [String] = [], file: ConfigurationFile? = nil
    ) {
        self.reader = reader
        self.file = file
        oldNames = environment.filter { LegacySettings.isOld($0.key) }
        given = [
            (.flag, Set(flags)), (.environment, Set(environment.filter { !$0.value.isEmpty }.keys)),
            (.file, Set((file?.values ?? [:]).keys)),
        ]
    }

    /// Every setting that was read, with what it is and where that comes from.
    var reports: [SettingReport] { read.values.sorted { $0.key < $1.key } }

    func string(_ key: String, default fallback: String, oldName: String? = nil) -> String {
        raw(key, oldName, default: fallback) ?? fallback
    }

    func optionalString(_ key: String) -> String? { raw(key, nil) }

    /// A text that may contain a password; it must not reach the access log of the reader, nor a fault.
    func secret(_ key: String) -> String? {
        known.insert(key)
        let value = reader.string(forKey: ConfigKey(key), isSecret: true)
        note(key, value, nil, nil, isSecret: true)
        return value
    }

    private func note(
        _ key: String, _ value: String?, _ oldName: String?, _ fallback: String?, isSecret: Bool = false
    ) {
        let variable = Self.variable(key)
        let source =
            given.first { $0.keys.contains($0.source == .environment ? variable : key) }?.source
            ?? (oldName.flatMap { oldNames[$0] } == nil ? .default : .oldName)
        // A setting that another one falls back to is read with and without its default.
        if value == nil, fallback == nil, read[key] != nil { return }
        read[key] = SettingReport(
            key: key, value: value ?? fallback, source: source,
            isSecret: isSecret || Self.isSecret(key, value ?? ""))
    }

    /// A password is in a file of its own, but for URLs, which may have one.
    private static func isSecret(_ key: String, _ value: String) -> Bool {
        key == "database.url" || (value.contains("://") && value.contains("@"))
    }

    private static func variable(_ key: String) -> String {
        "BELFRY_" + key.uppercased().replacing(".", with: "_")
    }

    /// Registers the old names of settings, whether they are read or not.
    func know(oldNames names: String...) { knownOldNames.formUnion(names) }

    /// The value of an old name in the environment; nil when it is empty.
    func oldValue(_ name: String) -> String? { oldNames[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Words separated by commas.
    func words(_ key: String) -> [String] {
        (raw(key, nil, default: "") ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    func int(_ key: String, default fallback: Int, in range: ClosedRange<Int>, oldName: String? = nil) -> Int {
        guard let text = raw(key, oldName, default: String(fallback)) else { return fallback }
        guard let value = Int(text), range.contains(value) else {
            return fault(
                key, "is `\(text.quotable)`, it has to be a whole number in \(range.lowerBound)...\(range.upperBound)",
                fallback)
        }
        return value
    }

    func bool(_ key: String, default fallback: Bool, oldName: String? = nil) -> Bool {
        guard let text = raw(key, oldName, default: String(fallback)) else { return fallback }
        switch text.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default: return fault(key, "is `\(text.quotable)`, it has to be true or false", fallback)
        }
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String, default fallback: Choice) -> Choice {
        guard let text = raw(key, nil, default: fallback.rawValue) else { return fallback }
        guard let value = Choice(rawValue: text.lowercased()) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            return fault(key, "is `\(text.quotable)`, it has to be one of: \(choices)", fallback)
        }
        return value
    }

    func seconds(_ key: String, default fallback: Int, in range: ClosedRange<Int>, oldName: String? = nil) -> Duration {
        .seconds(int(key, default: fallback, in: range, oldName: oldName))
    }

    func days(_ key: String, default fallback: Int, in range: ClosedRange<Int>) -> Duration {
        .seconds(int(key, default: fallback, in: range) * 86_400)
    }

    /// Names each `BELFRY_*` variable that is not a setting, which usually is a typing error, with the most similar
    /// setting.
    ///
    /// - Parameter others: variables that are read elsewhere.
    func unknownVariables(in environment: [String: String], besides others: [String]) -> [String] {
        let names = Set(known.map(Self.variable) + others)
        return Self.strangers(in: environment.keys.filter { $0.hasPrefix("BELFRY_") }, known: names)
    }

    /// Names each key of the file that no setting has, with the setting it is nearest to.
    func unknownKeys(in file: ConfigurationFile) -> [String] {
        Self.strangers(in: Array(file.values.keys), known: known).map { "\($0), in \(file.path)" }
    }

    private static func strangers(in names: [String], known: Set<String>) -> [String] {
        names.filter { !known.contains($0) }.sorted().map { stranger in
            let nearest = known.sorted().min { $0.edits(to: stranger) < $1.edits(to: stranger) }
            let advice = nearest.map { "; the nearest is \($0)" } ?? ""
            return "\(stranger) is not a setting of docs/Configuration.md\(advice)"
        }
    }

    /// The faults, each with the file or the variable that has the setting which it begins with.
    var locatedFaults: [String] {
        faults.map { fault in
            let key = String(fault.prefix { $0 != " " && $0 != ":" })
            switch read[key]?.source {
            case .file: return file.map { fault.hasSuffix($0.path) ? fault : "\(fault), in \($0.path)" } ?? fault
            case .environment: return "\(fault), in \(Self.variable(key))"
            default: return fault
            }
        }
    }

    /// Adds a fault in a combination of settings that are valid individually; once, wherever it is found.
    func note(_ fault: String) {
        if !faults.contains(fault) { faults.append(fault) }
    }

    /// The content of a file that a setting names; nil, and a fault, where it cannot be read.
    func contents(_ key: String, _ path: String) -> Data? {
        do throws(FileFault) {
            return try path.contents()
        } catch {
            return fault(key, "cannot be used: \(error)", nil)
        }
    }

    func fault<Value>(_ key: String, _ problem: String, _ fallback: Value) -> Value {
        note("\(key) \(problem)")
        return fallback
    }

    private func raw(_ key: String, _ oldName: String?, default fallback: String? = nil) -> String? {
        known.insert(key)
        if let oldName { know(oldNames: oldName) }
        let value = reader.string(forKey: ConfigKey(key)) ?? oldName.flatMap { oldNames[$0] }
        note(key, value, oldName, fallback)
        return value
    }
}

/// All faults of a configuration, a line each.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package let lines: [String]

    package init(lines: [String]) { self.lines = lines }

    package var description: String { lines.joined(separator: "\n") }
}
