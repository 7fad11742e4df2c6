/// The version of this program, which `belfry --version`, the list of nodes and the packages tell.
package enum Release {
    package static let version = "0.1.0"
}
