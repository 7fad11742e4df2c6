import BelfryService
import FoundationEssentials
import SystemPackage

/// The settings of a JSON file: objects within objects, whose names with dots between them are the keys.
///
/// `{"http": {"port": 8443}}` and `{"http.port": 8443}` mean the same. A list of texts stands for them with commas between.
struct ConfigurationFile {
    let path: String
    let values: [String: String]
    /// Faults of single values, a line each.
    let faults: [String]

    private static let bytesMax = 1 << 20

    /// Throws `ConfigurationFaults` when the file cannot be read or is not a JSON object.
    init(path: String) throws {
        // An empty path would be the current folder.
        guard !path.isEmpty else { throw ConfigurationFaults(lines: ["--config is empty, it has to name a file"]) }
        let path = path.absolutePath
        self.path = path
        let bytes: Data
        do throws(FileFault) { bytes = try path.contents().inUTF8 } catch {
            throw ConfigurationFaults(lines: [
                error.code == .noSuchFileOrDirectory
                    ? "the configuration file \(path) is not there (--config, BELFRY_CONFIG_FILE)"
                    : "the configuration file \(error)"
            ])
        }
        guard bytes.count <= Self.bytesMax else {
            throw ConfigurationFaults(
                lines: ["the configuration file \(path) has \(bytes.count) bytes, it may have \(Self.bytesMax)"])
        }
        var reading = Reading()
        do throws(InvalidInput) {
            try JSONReader.document(Array(bytes)) { reader, name throws(InvalidInput) in
                try reading.read(&reader, key: name)
            }
        } catch {
            throw ConfigurationFaults(lines: ["the configuration file \(path) \(error.problem)"])
        }
        values = reading.values
        faults = reading.faults.map { "\($0), in \(path)" }
    }

    private struct Reading {
        var values: [String: String] = [:]
        var faults: [String] = []

        /// Reads one setting. A setting that is given twice is a fault, as either value may be meant.
        mutating func read(_ reader: inout JSONReader, key: String) throws(InvalidInput) {
            guard !reader.isAtObject() else {
                return try reader.object(key) { reader, name throws(InvalidInput) in
                    try read(&reader, key: "\(key).\(name)")
                }
            }
            let value = try reader.value(key)
            guard values[key] == nil || value.isNull else {
                faults.append("\(key) is given twice")
                return
            }
            take(value, key: key)
        }

        private mutating func take(_ value: JSONValue, key: String) {
            switch value {
            case .object: return
            case .array(let elements):
                let texts = elements.compactMap(\.stringValue)
                guard texts.count == elements.count else {
                    faults.append("\(key) is a list of something else than texts")
                    return
                }
                values[key] = texts.joined(separator: ",")
            case .string(let text): values[key] = text
            case .integer(let integer): values[key] = "\(integer)"
            case .number(let number): values[key] = "\(number)"
            case .bool(let bool): values[key] = "\(bool)"
            case .null: break
            }
        }
    }
}
