import FoundationEssentials

/// How much the tests of chance, of crashes and of attacks do: `make check` has them do enough to show each fault that they are for,
/// `THOROUGH=1` has them look for rarer ones.
package enum Thoroughness {
    package static let isFull = ProcessInfo.processInfo.environment["THOROUGH"] != nil

    package static func count(_ usual: Int, thorough: Int) -> Int { isFull ? thorough : usual }
}
