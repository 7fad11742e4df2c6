package android.content.pm;

public class ApplicationInfo {
    public int icon;
    public CharSequence loadLabel(PackageManager manager) { return ""; }
}
