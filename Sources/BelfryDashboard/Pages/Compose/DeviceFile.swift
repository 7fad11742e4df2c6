import BelfryService
import FoundationEssentials

/// A file of device UUIDs that was uploaded as an audience.
enum DeviceFile {
    /// The form with the file's UUIDs in the place of names, so that they are kept from page to page; with a fault, the form as it is.
    static func merged(into form: FormData) -> (FormData, InvalidInput?) {
        guard let bytes = form.file("device_file") else { return (form, nil) }
        var merged = form
        do throws(InvalidInput) {
            let names = try read(bytes)
            let typed = form.list("names")
            guard typed.isEmpty || form["audience"] == "devices" else {
                throw InvalidInput(
                    field: "names", "is filled in, and the file of devices leaves it out: choose one of them")
            }
            merged.put("audience", "devices")
            merged.put("names", (typed + names).withoutRepeats.joined(separator: "\n"))
        } catch {
            return (form, error)
        }
        return (merged, nil)
    }

    /// Reads one UUID a line, or the first column of a CSV, which may have a header.
    private static func read(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> [String] {
        var names: [String] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let cell = String(
                decoding: line.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }, as: UTF8.self)
            let text = cell.replacing("\"", with: "").replacing("\u{FEFF}", with: "").trimmed
            guard let uuid = UUID(uuidString: text) else {
                if index == 0 && line.count < 200 || text.isEmpty { continue }
                throw InvalidInput(
                    field: "device_file", "has '\(text.prefix(60))' in line \(index + 1), which is no device UUID")
            }
            names.append(uuid.lowercased)
            guard names.count <= PushLimits.devicesMax else {
                throw InvalidInput(
                    field: "device_file", "has more than \(PushLimits.devicesMax.grouped) devices, which is the limit")
            }
        }
        guard !names.isEmpty else { throw InvalidInput(field: "device_file", "has no device UUID") }
        return names
    }
}
