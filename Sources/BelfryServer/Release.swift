/// The version of this program, as `belfry --version`, the list of nodes and the packages show it.
package enum Release {
    package static let version = "0.2.0"
}
